#!/bin/sh
# Puts programs and the shared libraries they load into a root directory, and says from which packages they come.
#
#   collect.sh ROOT PROGRAM|LIBRARY...      a program by its path, a library by its name
#
# What an image does not have can't be used by whoever gets into it: no package manager, and no shell that is not
# named here.
set -eu
root=$1
shift

# The directories that are links in the base are links in the image.
for name in bin sbin lib lib64; do
  if [ -L "/$name" ] && [ ! -e "$root/$name" ]; then
    mkdir -p "$root/usr/$name"
    ln -s "usr/$name" "$root/$name"
  fi
done
mkdir -p "$root/etc" "$root/usr/lib" "$root/usr/share/sbom" "$root/var/lib/dpkg/status.d"
cp -L /etc/os-release "$root/usr/lib/os-release"
ln -sf ../usr/lib/os-release "$root/etc/os-release"

# The package that a file came with. The package manager may know it by its name from before /lib moved to /usr/lib.
package_of() {
  real=$(readlink -f "$1")
  { dpkg -S "$real" || dpkg -S "${real#/usr}"; } 2>/dev/null | sed -n '1s/: .*//p'
}

take() {
  mkdir -p "$root$(dirname "$1")"
  cp -L "$1" "$root$1"
  package=$(package_of "$1")
  [ -n "$package" ] || { echo "no package has $1" >&2; exit 1; }
  dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/${package%%:*}"
}

for wanted; do
  case $wanted in
    /*) file=$wanted ;;
    *) file=$(ldconfig -p | sed -n "s|^.*$wanted .* => ||p" | head -n 1) ;;
  esac
  [ -e "$file" ] || { echo "there is no $wanted" >&2; exit 1; }
  take "$file"
  # A library is either "name => path (address)" or, for the loader, "path (address)".
  for library in $(ldd "$file" | sed -n 's|^[^/]*\(/[^ ]*\) (.*|\1|p' | sort -u); do
    take "$library"
  done
done

cat "$root"/var/lib/dpkg/status.d/* |
  awk '/^Package:/ { name = $2 } /^Version:/ { version = $2 } /^Architecture:/ { arch = $2 }
       name && version && arch { print name "\t" version "\t" arch; name = version = arch = "" }' |
  sort -u >"$root/usr/share/sbom/debian.tsv"

# The same files give the same layers.
chmod -R u+w,go-w,a+rX "$root"
find "$root" -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-0}" {} +
