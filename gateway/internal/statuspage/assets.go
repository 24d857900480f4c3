// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var files embed.FS

// assets are the files that pages are made of.
type assets struct {
	templates           map[string]*template.Template
	Style, Script, Icon string            // paths that they are served at
	static              map[string][]byte // by path
}

// loadAssets fails only where the program was built of broken files.
func loadAssets() (*assets, error) {
	a := &assets{templates: map[string]*template.Template{}, static: map[string][]byte{}}
	for name, at := range map[string]*string{"style.css": &a.Style, "live.js": &a.Script, "icon.svg": &a.Icon} {
		if err := a.add(name, at); err != nil {
			return nil, err
		}
	}
	layout, err := template.New("layout").Funcs(functions()).ParseFS(files, "assets/layout.html", "assets/parts.html")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"overview", "topics", "topic", "groups", "group", "clients", "protocol", "settings", "failed"} {
		page, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if a.templates[name], err = page.ParseFS(files, "assets/"+name+".html"); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// add serves a file at a path that changes with it, so that browsers may keep it.
func (a *assets) add(name string, at *string) error {
	content, err := files.ReadFile("assets/" + name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	*at = "/static/" + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
	a.static[*at] = content
	return nil
}

// ServeHTTP answers for the static files, which say nothing of the gateway and need no login.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := a.static[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
