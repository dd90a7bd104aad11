// Package command is what the programs under bench/ share: how they start and end, how they find
// the tools that they measure, how they do some things at a time, how they keep raw results, and
// the few statistics that they all print. They import it, nobody else.
package command
