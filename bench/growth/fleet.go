package main

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"gnvcc/cache"
)

// A day of many machines on one registry. What one push and one pull ask of it is counted, by a
// proxy before a real registry; when they come is drawn at random, and summed up.

// A Cost is what an operation asks of a registry.
type Cost struct{ Requests, Bytes int64 }

// counter is a proxy that counts.
type counter struct {
	http.Handler
	requests, bytes atomic.Int64
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	c.bytes.Add(max(r.ContentLength, 0))
	c.Handler.ServeHTTP(countedBody{w, &c.bytes}, r)
}

type countedBody struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (b countedBody) Write(p []byte) (int, error) {
	b.n.Add(int64(len(p)))
	return b.ResponseWriter.Write(p)
}

// asked has gnvcc do something, and says what it asked of the registry.
func (c *counter) asked(store string, words ...string) Cost {
	c.requests.Store(0)
	c.bytes.Store(0)
	cmd := exec.Command(*gnvcc, words...)
	cmd.Env = append(os.Environ(), "GNVCC_STORE="+store)
	if out, err := cmd.CombinedOutput(); err != nil {
		log.Fatalf("%q: %v\n%s", words, err, out)
	}
	return Cost{c.requests.Load(), c.bytes.Load()}
}

// costs are those of one repository.
type costs struct {
	push, pull Cost // of few changed kernels: by their publisher, by a reader that has the rest
	idle       Cost // a pull with nothing new
}

// Of a publisher's kernels, and of those few that change with a push.
const (
	kernelsEach = 50
	changedEach = 5
	trialsEach  = 40
)

// fleet measures what operations cost, and simulates.
func fleet(dir string) {
	target, err := url.Parse("http://" + *registry)
	check(err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	host := ""
	proxy.ModifyResponse = func(r *http.Response) error { // where an upload goes on
		if at, err := url.Parse(r.Header.Get("Location")); err == nil && at.Host != "" {
			at.Host = host
			r.Header.Set("Location", at.String())
		}
		return nil
	}
	c := &counter{Handler: proxy}
	server := httptest.NewServer(c)
	defer server.Close()
	host = server.Listener.Addr().String()

	own := c.repository(dir, "own", host, []int{4, 16}, false)
	one := c.repository(dir, "one", host, []int{1000, 10_000}, true)
	for _, machines := range []int{1000, 10_000} {
		publishers := machines / 10
		// a pull looks at each tag; what a changed one brings does not depend on the others
		perTag := (own[16].idle.Requests - own[4].idle.Requests) / 12
		perTagBytes := (own[16].idle.Bytes - own[4].idle.Bytes) / 12
		each := costs{push: own[16].push, idle: Cost{
			own[16].idle.Requests + perTag*int64(publishers-16),
			own[16].idle.Bytes + perTagBytes*int64(publishers-16)}}
		each.pull = Cost{own[16].pull.Requests - own[16].idle.Requests,
			own[16].pull.Bytes - own[16].idle.Bytes}
		for _, hours := range []float64{1, 24} {
			simulate("a tag for each publisher", machines, publishers, hours, each, true)
			simulate("one tag, push --merge", machines, publishers, hours, one[10_000], false)
		}
	}
}

// repository measures one with so many publishers (of one tag each), or so many kernels (in one
// tag).
func (c *counter) repository(dir, name, host string, sizes []int, merged bool) map[int]costs {
	out := map[int]costs{}
	for _, n := range sizes {
		at := fmt.Sprintf("oci://%s/fleet/%s-%d-%d", host, name, n, rand.Uint32())
		tags, kernels := n, kernelsEach
		if merged {
			tags, kernels = 1, n
		}
		var k costs
		var last string
		for tag := range tags {
			last = filepath.Join(dir, fmt.Sprint(name, n, "-", tag))
			c.asked(keep(last, numbered(tag*kernels, kernels, 0)), "push", fmt.Sprint(at, ":m", tag))
		}
		reader := filepath.Join(dir, fmt.Sprint(name, n, "-reader"))
		pulled := at
		if merged {
			pulled += ":m0"
		}
		c.asked(reader, "pull", "--timeout", "10m", pulled)
		k.idle = c.asked(reader, "pull")
		words := []string{"push", fmt.Sprint(at, ":m", tags-1)}
		store := keep(last, numbered((tags-1)*kernels, changedEach, 1))
		if merged {
			words = slices.Insert(words, 1, "--merge")
			store = keep(filepath.Join(dir, fmt.Sprint(name, n, "-other")), numbered(0, changedEach, 1))
		}
		k.push = c.asked(store, words...)
		k.pull = c.asked(reader, "pull")
		out[n] = k
		for what, cost := range map[string]Cost{"push": k.push, "pull": k.pull, "pull, unchanged": k.idle} {
			tell(Row{What: fmt.Sprintf("asked of a registry: %s, %s", what, name), Tags: tags,
				Decisions: tags * kernels, Requests: cost.Requests, Bytes: cost.Bytes})
		}
	}
	return out
}

// simulate draws a day: each publisher pushes twice, each machine pulls so often and builds twenty
// times, when it looks twenty kernels up. A look-up is stale where another decision has been pushed
// that the machine has not pulled yet.
func simulate(what string, machines, publishers int, hours float64, k costs, tags bool) {
	const day, universe, pushes, builds, lookups = 86400.0, 10_000, 2, 20, 20
	r := rand.New(rand.NewPCG(uint64(machines), uint64(hours)))
	type change struct {
		at     float64
		kernel int
	}
	var changes []change
	when := map[int][]float64{} // of each kernel
	var total Cost
	add := func(c Cost, at float64, seconds []int64) {
		total.Requests += c.Requests
		total.Bytes += c.Bytes
		if i := int(at); i < len(seconds) {
			seconds[i] += c.Requests
		}
	}
	seconds := make([]int64, int(day))
	var pushed []float64
	for range publishers * pushes {
		at := day * r.Float64()
		pushed = append(pushed, at)
		add(k.push, at, seconds)
		for range changedEach {
			changes = append(changes, change{at, r.IntN(universe)})
		}
	}
	slices.Sort(pushed)
	for _, c := range changes {
		when[c.kernel] = append(when[c.kernel], c.at)
	}
	between := 3600 * hours
	stale, looked := 0, 0
	for range machines {
		phase := between * r.Float64()
		for at := phase; at < day; at += between {
			add(k.idle, at, seconds)
			from, _ := slices.BinarySearch(pushed, at-between)
			to, _ := slices.BinarySearch(pushed, at)
			switch n := int64(to - from); {
			case tags: // each brings its own
				add(Cost{n * k.pull.Requests, n * k.pull.Bytes}, at, seconds)
			case n > 0: // as many of its sixteen shards as were changed meanwhile, at most all
				changed := min(n*changedEach, 16)
				per := (k.pull.Bytes - k.idle.Bytes) / min(changedEach, 16)
				add(Cost{k.pull.Requests - k.idle.Requests + changed - changedEach, changed * per}, at,
					seconds)
			}
		}
		for range builds {
			now := day * r.Float64()
			last := phase + math.Floor((now-phase)/between)*between
			for range lookups {
				looked++
				if slices.ContainsFunc(when[r.IntN(universe)], func(at float64) bool {
					return at > last && at <= now
				}) {
					stale++
				}
			}
		}
	}
	slices.Sort(seconds)
	tell(Row{What: "a day: " + what, Machines: machines, Publishers: publishers, Hours: hours,
		Requests: total.Requests, Bytes: total.Bytes, Mean: float64(total.Requests) / day,
		Peak: seconds[len(seconds)-1], Stale: float64(stale) / float64(looked)})
}

// numbered are decisions from one on; a later version has other recipes.
func numbered(from, n, version int) []cache.Decision {
	all := make([]cache.Decision, n)
	for i := range all {
		all[i] = decision(from+i, trialsEach)
		if version > 0 {
			all[i].Recipe = "maxnreg=248"
			all[i].Time = time.Now().UTC()
		}
	}
	return all
}
