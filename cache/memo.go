package cache

import "encoding/json"

// A Memos is a kind of memo by its name in the store, whose content is a T. Strings are kept as
// they are, all else as JSON.
type Memos[T any] string

// Get gives what Put kept. What is damaged, unreadable or of another form is as good as absent:
// false, and the zero T.
func (m Memos[T]) Get(s *Store, key string) (T, bool) {
	var v, none T
	b, ok := s.Memo(string(m), key)
	if !ok {
		return none, false
	}
	if text, is := any(&v).(*string); is {
		*text = string(b)
		return v, true
	}
	if json.Unmarshal(b, &v) != nil {
		return none, false
	}
	return v, true
}

// Put keeps v for whoever asks Get next; what was there is replaced.
func (m Memos[T]) Put(s *Store, key string, v T) error {
	if text, is := any(v).(string); is {
		return s.PutMemo(string(m), key, []byte(text))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return failed("keep a memo", s.memoPath(string(m), key), err)
	}
	return s.PutMemo(string(m), key, b)
}
