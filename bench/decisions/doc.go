// Package decisions reads what a tuning run left in a store: decisions, and the notebooks behind
// them, with every recipe that was tried. The programs of bench that tell about levers use it.
// It also reads what gnvcc report --json printed elsewhere, beside a store in which the same code
// was built again (rebuilt.go).
package decisions
