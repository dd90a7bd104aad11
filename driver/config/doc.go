// Package config reads gnvcc's settings from files: gnvcc.toml in the project's folder or in one
// above the working directory, and ~/.config/gnvcc/gnvcc.toml. What a file says is put into the
// environment, where nothing is set, before anybody reads that: a setting is a variable
// (driver/environment, cache) under a shorter name. The stages of a build inherit it from gnvcc.
//
// Callers: cmd/gnvcc; driver/apply, for recorded commands. It imports driver/environment.
//
// Reading the source: settings.go what there is, file.go a file, find.go which files count.
package config
