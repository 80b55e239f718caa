# What inventory.sh makes of nodes: jq -L FOLDER 'include "inventory"; ...'.

# The labels and resources that pools ask for, each as the keys of an object.
def wanted_labels: [.pools[] | (.node_selector | keys[]), (.levels[].label | strings)] + ["nvidia.com/gpu.memory"]
  | map({key: ., value: true}) | from_entries;
def wanted_resources: [.pools[].resource | {key: ., value: true}] | from_entries;

# What is kept of a node: where it is, what it has, and whether it takes pods.
def node($labels; $resources):
  {name: .metadata.name,
   labels: (.metadata.labels // {} | with_entries(select($labels[.key]))),
   cordoned: (.spec.unschedulable == true),
   ready: ([.status.conditions[]? | select(.type == "Ready") | .status] == ["True"]),
   # Devices that are broken just now are in the capacity only.
   devices: ([.status.capacity, .status.allocatable | (. // {}) | to_entries[] | select($resources[.key])]
             | group_by(.key) | map({key: .[0].key, value: (map(.value | tonumber? // 0) | max)}) | from_entries)};

# The nodes of a page, and at its end what continues the list.
def page($settings):
  ($settings | wanted_labels) as $labels | ($settings | wanted_resources) as $resources
  | (.items[] | node($labels; $resources)), (.metadata.continue // "" | @uri);

def is_text: type == "string" and . != "";

# What is wrong with a pool of the settings, as texts; $path is its place.
def pool_mistakes($path):
  if type != "object" then "\($path): must be a map" else
    (("name", "resource", "class") as $key | select(.[$key] | is_text | not) | "\($path).\($key): must be a text"),
    (select(.node_selector | type != "object" or length == 0 or any(.[]; type != "string"))
      | "\($path).node_selector: must be a map of labels, which say what nodes the pool has"),
    (if .levels | type != "array" or length == 0 then "\($path).levels: must have an entry"
     else .levels | to_entries[] | "\($path).levels[\(.key)]" as $level
       | if .value | type != "object" then "\($level): must be a map" else
           (select(.value.bandwidth | is_text | not) | "\($level).bandwidth: must be a text"),
           (select(.value | has("nodes")) | "\($level).nodes: is counted") end
     end),
    (if .levels | type == "array" then .levels[:-1] | to_entries[]
       | select(.value | type == "object" and (.label | is_text | not))
       | "\($path).levels[\(.key)].label: must be the label of its units, on each level but the last"
     else empty end),
    (keys[] | select(IN("nodes", "devices", "cluster")) | "\($path).\(.): is counted")
  end;

# What is wrong with the settings, one text for each mistake.
def mistakes:
  if type != "object" then "must be a map" else
    (keys[] | select(IN("pools", "classes") | not) | "\(.): is not a key here"),
    (if .pools | type != "array" then "pools: must be a list"
     else .pools | to_entries[] | .key as $i | .value | pool_mistakes("pools[\($i)]") end)
  end;

# The most nodes that share the values of all labels of a list.
def largest_unit($labels): group_by([.labels[$labels[]]]) | map(length) | max // 1;

# One pool of the settings with its numbers; the input is all nodes. It has the nodes with its labels that have its
# resource, or had it: a node that is not ready keeps it with the number 0.
def counted_pool($pool):
  [.[] | select(.devices | has($pool.resource)) | .labels as $labels
    | select($pool.node_selector | to_entries | all($labels[.key] == .value))] as $members
  | ([$members[].devices[$pool.resource]] | max // 0) as $devices
  | {members: ($members | map({name, labels, devices: .devices[$pool.resource]})),
     cordoned: [$members[] | select(.cordoned) | .name],
     not_ready: [$members[] | select(.ready | not) | .name],
     fewer: [$members[] | select(.devices[$pool.resource] < $devices) | .name],
     entry: ($pool + {nodes: ($members | length), devices: ([$devices, 1] | max),
       levels: [$pool.levels | length as $size | to_entries[] | .key as $i | .value
         + if $i == $size - 1 then {} else {nodes: ($members | largest_unit([$pool.levels[$i:-1][].label]))} end]})};

# "3 cordoned (a, b, c)" after a comma; nothing for an empty list.
def some($what): if length == 0 then "" else ", \(length) \($what) (\(.[:5] | join(", "))\(if length > 5 then ", ..." else "" end))" end;

# A counted pool in words.
def summary:
  "pool \(.entry.name): \(.entry.nodes) nodes of \(.entry.devices)"
  + (.cordoned | some("cordoned")) + (.not_ready | some("not ready")) + (.fewer | some("with fewer"));

# The differences between the pools that were (the first of two documents) and those that are, one text for each.
def differences:
  (.[0].pools // [] | map({key: .name, value: .}) | from_entries) as $old
  | (.[1].pools | map({key: .name, value: .}) | from_entries) as $new
  | ($old + $new | keys[]) as $name
  | if $new[$name] == null then "pool \($name): gone"
    elif $old[$name] == null then "pool \($name): new, \($new[$name].nodes) nodes of \($new[$name].devices)"
    else ($old[$name] + $new[$name] | keys[]) as $key | select($old[$name][$key] != $new[$name][$key])
      | "pool \($name): \($key) \($old[$name][$key] | tojson) -> \($new[$name][$key] | tojson)"
    end;

# The flags of `planwright register` for a pool's entry: what its nodes do not say of themselves.
def register_flags:
  "--class=\(.class)",
  (select(.inside.bandwidth | type == "string") | "--link=inside=\(.inside.bandwidth | gsub(" "; ""))"),
  (.levels[:-1][] | "--level=\(.label)=\(.bandwidth | gsub(" "; ""))"),
  "--between=\(.levels[-1].bandwidth | gsub(" "; ""))";

# The members of a counted pool as `kubectl get nodes -o json` would print them, cordoned ones too, with the labels that
# the import needs.
def node_list:
  .entry as $entry | {items: [.members[] | {
    metadata: {name, labels: (.labels | with_entries(select(.key | IN($entry.levels[].label, "nvidia.com/gpu.memory"))))},
    status: {capacity: {"nvidia.com/gpu": "\(.devices)"}}}]};
