#!/usr/bin/env bash
# Whether the image of the Dockerfile has every shared library that the programs need: those of the packages that it
# installs, and of what these depend on. Skipped where the programs are not built or this is not Debian.
#   tests/structure/check_image.sh build/release/bin/planwrightd build/release/bin/planwright
set -euo pipefail

for program in "$@"; do
  [[ -x "$program" ]] || { echo "skipped: $program is not built" && exit 77; }
done
command -v apt-cache >/dev/null || { echo "skipped: no apt-cache here" && exit 77; }

# The words between the last option of apt-get and the "&&" behind them.
mapfile -t installed < <(sed -n '/--no-install-recommends/,/&&/p' Dockerfile | grep -oE '[a-z0-9][a-z0-9.+-]+' |
  sed '0,/^no-install-recommends$/d; /^rm$/,$d')
mapfile -t present < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances "${installed[@]}" | grep -E '^[a-z]' | sort -u)
# /lib is a link to /usr/lib, and packages may name their files by either.
mapfile -t libraries < <(ldd "$@" | awk '$3 ~ /^\// { print $3 }' | sort -u | xargs readlink -f | sed 's#^/usr##')
mapfile -t needed < <(dpkg-query --search "${libraries[@]}" "${libraries[@]/#//usr}" 2>/dev/null | cut -d: -f1 | sort -u)
[[ ${#needed[@]} -gt 0 ]]

status=0
for package in "${needed[@]}"; do
  if [[ " ${present[*]} " != *" $package "* ]]; then
    echo "Dockerfile: the programs need $package, which the image does not install"
    status=1
  fi
done
exit "$status"
