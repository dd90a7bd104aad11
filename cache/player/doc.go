// Package player starts the test binary again, in a role, and kills it: for tests of what the store
// looks like after a kill at any moment. Only tests import it.
package player
