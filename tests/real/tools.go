//go:build tools

// Package real pins the commands that tests/real/build.py builds, so that `go mod tidy` keeps what they need.
package real

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
