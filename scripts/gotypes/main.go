// Prints, as JSON, how the Go types of the built-in kinds are declared: for every struct its JSON members in order, each with
// its omit rule ("e" for omitempty, "z" for omitzero), its type, and its place as decoding errors show it (embedded structs
// included). scripts/derive_builtin.py runs it; nothing else does.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

type output struct {
	Kinds   map[string]string     `json:"kinds"`
	Structs map[string][][]string `json:"structs"`
	Names   map[string]string     `json:"names"`
}

var unmarshaler = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()

func id(t reflect.Type) string {
	pkg := t.PkgPath()
	for _, prefix := range []string{"k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/apimachinery/pkg/apis/", "k8s.io/apimachinery/pkg/", "k8s.io/api/"} {
		pkg = strings.TrimPrefix(pkg, prefix)
	}
	return pkg + "." + t.Name()
}

func (o *output) typ(t reflect.Type) string {
	if t.Kind() != reflect.Pointer && (reflect.PointerTo(t).Implements(unmarshaler)) {
		o.Names["!"+id(t)] = t.String()
		return "!" + id(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + o.typ(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return named("bytes", t)
		}
		return named("[]"+o.typ(t.Elem()), t)
	case reflect.Map:
		return named("{}"+o.typ(t.Elem()), t)
	case reflect.Struct:
		o.walk(t)
		return "#" + id(t)
	}
	return named(t.Kind().String(), t)
}

// A type with a name of its own carries it after "=": error texts show it.
func named(text string, t reflect.Type) string {
	if t.PkgPath() != "" {
		return text + "=" + t.String()
	}
	return text
}

func (o *output) walk(t reflect.Type) {
	if _, seen := o.Structs[id(t)]; seen {
		return
	}
	o.Structs[id(t)] = [][]string{}
	o.Structs[id(t)] = o.members(t)
	o.Names[id(t)] = t.String()
}

func (o *output) members(t reflect.Type) [][]string {
	list := [][]string{}
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		parts := strings.Split(field.Tag.Get("json"), ",")
		name, options := parts[0], parts[1:]
		if name == "-" || !field.IsExported() {
			continue
		}
		if field.Anonymous && name == "" {
			for _, member := range o.members(field.Type) {
				member[3] = field.Name + "." + member[3]
				list = append(list, member)
			}
			continue
		}
		omit := ""
		for _, option := range options {
			switch option {
			case "omitempty":
				omit += "e"
			case "omitzero":
				omit += "z"
			}
		}
		list = append(list, []string{name, omit, o.typ(field.Type), name})
	}
	return list
}

func main() {
	o := &output{Kinds: map[string]string{}, Structs: map[string][][]string{}, Names: map[string]string{}}
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "Options") || strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") || gvk.Kind == "WatchEvent" || strings.HasPrefix(gvk.Version, "__") {
			continue
		}
		o.walk(t)
		o.Kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = id(t)
	}
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(o); err != nil {
		panic(err)
	}
}
