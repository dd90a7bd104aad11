package ptx

// At is where the function stands in the module's text as it was parsed; edits do not move it.
func (f *Func) At() Span { return f.at }
