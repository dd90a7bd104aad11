// Package graph has the algorithms on control flow that PTX, machine code and reports share:
// dominators and loops. A graph is the list of each node's successors. It
// imports no package of ours; rewrite and sim call it. Nothing here is recursive, since a kernel may have
// a hundred thousand blocks.
package graph
