// Package sim says what a GPU would do with a kernel, without one: the limits of each architecture,
// how many blocks of a launch are resident on a multiprocessor at once, and at which register
// counts that number changes.
//
// It is arithmetic over a table: no files, no tools, no GPU. policy, driver and cmd may call it; it
// imports no package of ours.
//
// Files: device.go has the table and its sources, occupancy.go the allocation rules, critical.go
// the critical points of Li et al. (DATE 2016), plot.go a picture of them as text.
package sim
