package mpitest

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the cities files anew")

type city struct{ x, y int }

// randomCities are n cities on a square of 1000 x 1000, the same ones each time (Knuth's MMIX generator, seeded with
// n).
func randomCities(n int) []city {
	state := uint64(n)
	next := func() int {
		state = state*6364136223846793005 + 1442695040888963407
		return int((state >> 33) % 1000)
	}
	cities := make([]city, n)
	for i := range cities {
		cities[i] = city{next(), next()}
	}
	return cities
}

// shortestTour is the oracle for tsp.c: Held and Karp's dynamic programme, over all sets of cities. Rounded Euclidean
// distances.
func shortestTour(cities []city) int {
	m := len(cities) - 1 // city m is where the tour starts
	distance := func(a, b int) int32 {
		return int32(math.Hypot(float64(cities[a].x-cities[b].x), float64(cities[a].y-cities[b].y)) + 0.5)
	}
	// best[set*m+last]: the shortest way from city m through all cities of the set to its member last.
	const infinity = math.MaxInt32 / 2
	best := make([]int32, m<<m)
	for set := 1; set < 1<<m; set++ {
		for last := range m {
			shortest := int32(infinity)
			rest := set &^ (1 << last)
			switch {
			case set>>last&1 == 0:
			case rest == 0:
				shortest = distance(m, last)
			default:
				for before := range m {
					if rest>>before&1 == 1 {
						shortest = min(shortest, best[rest*m+before]+distance(before, last))
					}
				}
			}
			best[set*m+last] = shortest
		}
	}
	shortest := int32(infinity)
	for last := range m {
		shortest = min(shortest, best[((1<<m)-1)*m+last]+distance(last, m))
	}
	return int(shortest)
}

func citiesFile(cities []city, optimum int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %d random cities on a square of 1000 x 1000 (written by testkit/mpitest/cities_test.go)\n",
		len(cities))
	fmt.Fprintf(&text, "# optimum %d\n", optimum)
	for _, city := range cities {
		fmt.Fprintf(&text, "%d %d\n", city.x, city.y)
	}
	return text.String()
}

// TestCities checks the cities files: the cities are those of the generator, and the optimum that tsp compares its
// answer with is that of an independent method.
func TestCities(t *testing.T) {
	for _, n := range []int{10, 12, 15, 18} {
		if testing.Short() && n > 12 {
			continue
		}
		cities := randomCities(n)
		wanted := citiesFile(cities, shortestTour(cities))
		path := filepath.Join(Root(t), "testprograms", fmt.Sprintf("cities%d.txt", n))
		if *update {
			if err := os.WriteFile(path, []byte(wanted), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(path)
		if err != nil || string(content) != wanted {
			t.Errorf("%s: %v; it holds\n%swanted (go test -run TestCities -update writes it)\n%s", path, err, content,
				wanted)
		}
	}
}

// optimum is what a cities file says that the length of the shortest tour is.
func optimum(t *testing.T, name string) int {
	t.Helper()
	content, err := os.ReadFile(Source(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var length int
	for line := range strings.Lines(string(content)) {
		if _, err := fmt.Sscanf(line, "# optimum %d", &length); err == nil {
			return length
		}
	}
	t.Fatalf("%s does not say the optimum", name)
	return 0
}
