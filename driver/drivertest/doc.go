// Package drivertest is what tests of driver's packages share: projects that are built with gnvcc, and
// toolkits with scripts in front of their tools. The test binary is gnvcc there (TestMain of the
// packages that use it).
package drivertest
