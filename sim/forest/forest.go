package forest

// A Node is a split, or a leaf where Left is 0. Rows whose feature is at most At go left.
type Node struct {
	Feature     int
	At          float64
	Left, Right int     // places in the tree's nodes; children stand behind their parents
	Value       float64 // mean of the rows: a leaf's answer
}

// A Tree is its nodes, the root first.
type Tree []Node

// A Forest is grown trees, and what they were grown for.
type Forest struct {
	Version  int // of this format and of the features' meaning: see Load
	Device   string
	Features []string // names, in order
	Trees    []Tree
	Rows     int
	Note     string // where the rows are from
}

// Predict is the mean of the trees' answers.
func (f *Forest) Predict(x []float64) float64 {
	sum := 0.0
	for _, t := range f.Trees {
		sum += t.predict(x)
	}
	return sum / float64(len(f.Trees))
}

func (t Tree) predict(x []float64) float64 {
	at := 0
	for t[at].Left != 0 {
		if x[t[at].Feature] <= t[at].At {
			at = t[at].Left
		} else {
			at = t[at].Right
		}
	}
	return t[at].Value
}
