// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
)

const (
	composeFile      = "../docker/compose.yaml"
	twoListenersFile = "../docker/compose.two-listeners.yaml"
)

// TestCompose loads the project as Compose does (its schema, its variables, its merging) and checks what the schema cannot.
func TestCompose(t *testing.T) {
	for _, test := range []struct {
		name      string
		files     []string
		published []string // of the gateway, host port:container port
	}{
		{"one listener", []string{composeFile}, []string{"9093:9093", "9094:9094"}},
		{"two listeners", []string{composeFile, twoListenersFile}, []string{"9095:9095", "9094:9094"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			project := compose(t, test.files...)
			for name, service := range project.Services {
				checkService(t, name, service)
			}
			var published []string
			for _, port := range project.Services["gateway"].Ports {
				published = append(published, port.Published+":"+strconv.Itoa(int(port.Target)))
			}
			if diff := cmp.Diff(test.published, published); diff != "" {
				t.Errorf("published (-want +got):\n%s", diff)
			}
		})
	}
}

func checkService(t *testing.T, name string, service types.ServiceConfig) {
	t.Helper()
	if service.Build == nil {
		checkImage(t, service.Image)
	} else if _, err := os.Stat(filepath.Join(service.Build.Context, service.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for _, port := range service.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("%s publishes %d to the network of the machine", name, port.Target)
		}
	}
	for _, volume := range service.Volumes {
		if _, err := os.Stat(volume.Source); volume.Type == types.VolumeTypeBind && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestComposeGateway checks that the gateway waits for Iggy, that both agree on address and password, and that clients are told
// an address that is published.
func TestComposeGateway(t *testing.T) {
	project := compose(t, composeFile)
	gateway, iggy := project.Services["gateway"], project.Services["iggy"]
	if gateway.DependsOn["iggy"].Condition != types.ServiceConditionHealthy || iggy.HealthCheck == nil {
		t.Error("the gateway does not wait until Iggy is well")
	}
	ours, theirs := composeEnvironment(t, composeFile), environmentOf(t, iggy)
	if ours["IGGY_KAFKA_IGGY_ADDR"] != "iggy:"+strconv.Itoa(port(t, theirs, "IGGY_TCP_ADDRESS")) {
		t.Errorf("the gateway looks for Iggy at %s", ours["IGGY_KAFKA_IGGY_ADDR"])
	}
	if ours["IGGY_KAFKA_IGGY_USERNAME"] != theirs["IGGY_ROOT_USERNAME"] || ours["IGGY_KAFKA_IGGY_PASSWORD"] != theirs["IGGY_ROOT_PASSWORD"] {
		t.Error("the gateway is another user than the one that Iggy makes")
	}
	bound := port(t, imageEnvironment(t), "IGGY_KAFKA_BIND_ADDR")
	if !slices.ContainsFunc(gateway.Ports, func(p types.ServicePortConfig) bool {
		return int(p.Target) == bound && p.Published == strconv.Itoa(bound)
	}) {
		t.Errorf("clients are told localhost:%d, which is not published", bound)
	}
}

// TestComposeListeners checks the addresses that clients are told with two listeners: the service's name where containers
// connect, and a published port of localhost where others do.
func TestComposeListeners(t *testing.T) {
	environment := composeEnvironment(t, composeFile, twoListenersFile)
	if name := environment["IGGY_KAFKA_ADVERTISED_HOST"]; name != "gateway" {
		t.Errorf("containers are told %s", name)
	}
	bound := port(t, environment, "IGGY_KAFKA_TLS_BIND_ADDR")
	published := compose(t, composeFile, twoListenersFile).Services["gateway"].Ports[0].Published
	if name := environment["IGGY_KAFKA_TLS_ADVERTISED_HOST"]; name != "localhost" || published != strconv.Itoa(bound) {
		t.Errorf("others are told %s:%d, published is %s", name, bound, published)
	}
}

func compose(t *testing.T, files ...string) *types.Project {
	t.Helper()
	details := types.ConfigDetails{WorkingDir: absolute(t, filepath.Dir(files[0])), Environment: types.Mapping{"IGGY_PASSWORD": "a password", "TLS_DIR": tlsFolder(t)}}
	for _, file := range files {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{Filename: absolute(t, file)})
	}
	project, err := loader.LoadWithContext(t.Context(), details, loader.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// composeEnvironment is the gateway's, but for the files of its TLS listener, which are replaced.
func composeEnvironment(t *testing.T, files ...string) map[string]string {
	t.Helper()
	environment := environmentOf(t, compose(t, files...).Services["gateway"])
	for _, name := range []string{"IGGY_KAFKA_TLS_CERT_FILE", "IGGY_KAFKA_TLS_KEY_FILE"} {
		if path, ok := environment[name]; ok {
			environment[name] = filepath.Join(tlsFolder(t), filepath.Base(path))
		}
	}
	return environment
}

func environmentOf(t *testing.T, service types.ServiceConfig) map[string]string {
	t.Helper()
	environment := map[string]string{}
	for name, value := range service.Environment {
		if value == nil {
			t.Fatalf("%s has no value", name)
		}
		environment[name] = *value
	}
	return environment
}

// tlsFolder holds a cert.pem and its key.pem.
func tlsFolder(t *testing.T) string {
	t.Helper()
	return absolute(t, "../../gateway/internal/config/testdata/tls")
}

func composeGrace(t *testing.T) time.Duration {
	t.Helper()
	grace := compose(t, composeFile).Services["gateway"].StopGracePeriod
	if grace == nil {
		t.Fatal("compose.yaml gives the gateway no time to end")
	}
	return time.Duration(*grace)
}
