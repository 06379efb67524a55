//go:build tools

// Package etcd pins the command that tests/real/build.py builds, so that `go mod tidy` keeps what it needs.
package etcd

import (
	_ "go.etcd.io/etcd/server/v3"
)
