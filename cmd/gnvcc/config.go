package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"gnvcc/cache"
	"gnvcc/driver"
	"gnvcc/driver/config"
	"gnvcc/driver/environment"
)

// Settings from files (driver/config), and what holds.

// showKey prints a hash of what builds here depend on besides command and sources, for compiler
// caches.
func showKey() error {
	if !settle(true) {
		return exit(2)
	}
	hash, err := driver.Key()
	if err == nil {
		fmt.Fprintln(stdout(), hash)
	}
	return err
}

// showConfig prints which settings hold, and where each is from: a variable of the environment, the
// nearest gnvcc.toml, the user's own file, or nowhere.
func showConfig() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	c := config.Of(dir)
	t := tabwriter.NewWriter(stdout(), 0, 8, 2, ' ', 0)
	for _, s := range config.Settings {
		value, from := s.Default, "default"
		if v, ok := c.Get(s.Key); ok {
			value, from = v.Text, fmt.Sprintf("%s:%d", v.File, v.Line)
		}
		// what a file says is in the environment by now: only what differs was there before
		if text, ok := os.LookupEnv(s.Variable()); ok && (from == "default" || text != value) {
			value, from = text, s.Variable()
		}
		if s.Key == "store" && os.Getenv(s.Variable()) == "" {
			if dir, err := cache.Dir(); err == nil { // XDG_CACHE_HOME may have moved it
				value, from = dir, "default"
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Key, value, from)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if c.Err != nil {
		fmt.Fprintln(stderr, "gnvcc doctor:", c.Err)
		return exit(1)
	}
	return nil
}

// settle puts the settings of files into the environment. What is wrong with one a build only logs,
// unless it is to be strict; verbs say it. False: we are done.
func settle(build bool) bool {
	err := config.Set()
	if err == nil {
		return true
	}
	env := environment.Read()
	switch {
	case !build || env.Strict:
		fmt.Fprintln(stderr, "gnvcc:", err)
	default:
		log := env.Log()
		log.Warn().Err(err).Msg("settings are passed by")
	}
	return !build || !env.Strict
}

// variablesText is the help's list of variables.
func variablesText() string {
	var b strings.Builder
	for _, s := range config.Settings {
		fmt.Fprintf(&b, "  %-17s %s\n", s.Variable()+"="+s.Value, s.What)
	}
	return b.String()
}
