// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	security "k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// manifests are all that is applied.
type manifests struct {
	configMaps  []core.ConfigMap
	services    []core.Service
	deployments []apps.Deployment
	budgets     []policy.PodDisruptionBudget
	monitors    []monitoring.ServiceMonitor
}

// load decodes every document of every file into the type that it says it is; a field that the type has not is an error.
func load(t *testing.T) manifests {
	t.Helper()
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../kubernetes/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m manifests
	for _, file := range append(files, deeper...) {
		for _, document := range bytes.Split(read(t, file), []byte("\n---\n")) {
			var kind struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal(document, &kind); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch kind.APIVersion + " " + kind.Kind {
			case "v1 ConfigMap":
				m.configMaps = append(m.configMaps, decode[core.ConfigMap](t, file, document))
			case "v1 Service":
				m.services = append(m.services, decode[core.Service](t, file, document))
			case "apps/v1 Deployment":
				m.deployments = append(m.deployments, decode[apps.Deployment](t, file, document))
			case "policy/v1 PodDisruptionBudget":
				m.budgets = append(m.budgets, decode[policy.PodDisruptionBudget](t, file, document))
			case "monitoring.coreos.com/v1 ServiceMonitor":
				m.monitors = append(m.monitors, decode[monitoring.ServiceMonitor](t, file, document))
			default:
				t.Errorf("%s: a %s %q is not checked", file, kind.APIVersion, kind.Kind)
			}
		}
	}
	if len(m.deployments) != 1 || len(m.deployments[0].Spec.Template.Spec.Containers) != 1 {
		t.Fatal("not one Deployment of one container")
	}
	return m
}

func decode[T any](t *testing.T, file string, document []byte) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict(document, &object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return object
}

func (m manifests) pod() core.PodTemplateSpec { return m.deployments[0].Spec.Template }

func (m manifests) container() core.Container { return m.pod().Spec.Containers[0] }

// TestDeployment: there is never more than one gateway, it gets no variables of Services, and it passes what Kubernetes
// calls restricted.
func TestDeployment(t *testing.T) {
	m := load(t)
	deployment, pod := m.deployments[0], m.pod()
	if r := deployment.Spec.Replicas; r == nil || *r != 1 || deployment.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType {
		t.Error("two gateways could run at a time, and would fight for the state log")
	}
	if links := pod.Spec.EnableServiceLinks; links == nil || *links {
		t.Error("enableServiceLinks is not false")
	}
	checkImage(t, m.container().Image)
	evaluator, err := standards.NewEvaluator(standards.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("pod security: %s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	if root := m.container().SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
		t.Error("the container's files can be written to")
	}
}

// TestSelectors: whatever selects pods or Services finds them.
func TestSelectors(t *testing.T) {
	m := load(t)
	pod := labels.Set(m.pod().Labels)
	for _, service := range m.services {
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(pod) {
			t.Errorf("Service %s selects other pods", service.Name)
		}
	}
	if !labels.SelectorFromSet(m.deployments[0].Spec.Selector.MatchLabels).Matches(pod) {
		t.Error("the Deployment selects other pods")
	}
	for _, budget := range m.budgets {
		if !labels.SelectorFromSet(budget.Spec.Selector.MatchLabels).Matches(pod) {
			t.Error("the PodDisruptionBudget selects other pods")
		}
	}
	for _, monitor := range m.monitors {
		selected := slices.DeleteFunc(slices.Clone(m.services), func(s core.Service) bool {
			return !labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(s.Labels))
		})
		if len(selected) != 1 || selected[0].Spec.Ports[0].Name != monitor.Spec.Endpoints[0].Port {
			t.Errorf("the ServiceMonitor selects %d Services, or another port", len(selected))
		}
	}
}

// TestPorts follows the ports from the settings over the container, its probes and the Services to what clients are told.
func TestPorts(t *testing.T) {
	m := load(t)
	environment := podEnvironment(t)
	container := m.container()
	want := map[string]int{"kafka": port(t, environment, "IGGY_KAFKA_BIND_ADDR"), "admin": port(t, environment, "IGGY_KAFKA_ADMIN_ADDR")}
	got := map[string]int{}
	for _, p := range container.Ports {
		got[p.Name] = int(p.ContainerPort)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the container has the ports %v, the settings %v", got, want)
	}
	for _, test := range []struct {
		name, path string
		probe      *core.Probe
	}{
		{"liveness", "/healthz", container.LivenessProbe},
		{"readiness", "/readyz", container.ReadinessProbe},
	} {
		if p := test.probe; p == nil || p.HTTPGet == nil || p.HTTPGet.Path != test.path || p.HTTPGet.Port.String() != "admin" {
			t.Errorf("no %s probe asks for %s at the admin port", test.name, test.path)
		}
	}
	advertised, _, _ := strings.Cut(environment["IGGY_KAFKA_ADVERTISED_HOST"], ".")
	found := false
	for _, service := range m.services {
		for _, p := range service.Spec.Ports {
			target := p.TargetPort.String()
			if want[target] != int(p.Port) {
				t.Errorf("Service %s: port %d leads to %q", service.Name, p.Port, target)
			}
			found = found || service.Name == advertised && target == "kafka"
		}
	}
	if !found {
		t.Errorf("clients are told %s, which is no Service for them", advertised)
	}
}

// podEnvironment is the container's environment, with the password in a file that is there.
func podEnvironment(t *testing.T) map[string]string {
	t.Helper()
	m := load(t)
	environment := map[string]string{}
	for _, source := range m.container().EnvFrom {
		at := slices.IndexFunc(m.configMaps, func(c core.ConfigMap) bool { return c.Name == source.ConfigMapRef.Name })
		if at < 0 {
			t.Fatalf("there is no ConfigMap %s", source.ConfigMapRef.Name)
		}
		maps.Copy(environment, m.configMaps[at].Data)
	}
	for _, variable := range m.container().Env {
		value := variable.Value
		if variable.ValueFrom != nil {
			value = "a-namespace"
		}
		for name, earlier := range environment { // $(NAME) is that of a variable before
			value = strings.ReplaceAll(value, "$("+name+")", earlier)
		}
		environment[variable.Name] = value
	}
	mount := m.container().VolumeMounts[0]
	if file := environment["IGGY_KAFKA_IGGY_PASSWORD_FILE"]; filepath.Dir(file) != mount.MountPath {
		t.Errorf("the password is looked for at %s, the secret is mounted at %s", file, mount.MountPath)
	}
	environment["IGGY_KAFKA_IGGY_PASSWORD_FILE"] = passwordFile(t)
	return environment
}

func podGrace(t *testing.T) time.Duration {
	t.Helper()
	grace := load(t).pod().Spec.TerminationGracePeriodSeconds
	if grace == nil {
		t.Fatal("the Deployment gives the gateway no time to end")
	}
	return time.Duration(*grace) * time.Second
}
