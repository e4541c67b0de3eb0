#!/bin/busybox sh
# The first process of an emulated machine, from a root in memory: mounts the host's root for reading alone, lays memory
# over it, so that everything can be written and nothing on the host changes, and goes on with run_command.sh.
#
# qemu_boot.py gives the folders: host, run (of this run; guest_run.py says what is in it), and writableN.
set -u
export PATH=/bin
/bin/busybox --install /bin

die() {
  echo "verbena guest: $1" >/dev/kmsg
  poweroff -f
  sleep infinity
}

mount_folder() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2" || die "no folder $1 at $2"; }

mount -t devtmpfs devtmpfs /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /modules/*; do
  insmod "$module" || die "$module does not load"
done

mount -t tmpfs -o size=80% tmpfs /memory || die "no memory for what is written"
mkdir /memory/written /memory/work
mount_folder host /host ro,cache=loose
mount -t overlay -o lowerdir=/host,upperdir=/memory/written,workdir=/memory/work overlay /whole || die "no overlay"

root=/whole
mount -t tmpfs tmpfs $root/run || die "no /run"
mkdir -p $root/run/verbena $root/lib/modules
mount_folder run $root/run/verbena cache=none
. $root/run/verbena/parameters || die "no parameters"
mount -o bind "$root$MODULES/lib/modules" $root/lib/modules || die "no modules in $MODULES"
[ -f $root/run/verbena/writable ] || die "the folder of this run is not complete"
number=0
tr '\0' '\n' <$root/run/verbena/writable | while IFS= read -r folder; do
  mount_folder writable$number "$root$folder" cache=none
  number=$((number + 1))
done
for kept in dev proc sys; do
  mount -o move /$kept $root/$kept
done
exec switch_root $root /bin/bash "$TOOLS/guest/run_command.sh" <$root/dev/null
