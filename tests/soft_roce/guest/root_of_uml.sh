#!/bin/bash
# The first process of a User Mode Linux guest. The kernel's root is the host's file system, for reading alone: this lays
# memory over it, so that everything can be written and nothing on the host changes, and goes on with run_command.sh.
#
# The kernel hands over VERBENA_RUN, the folder of this run on the host (guest_run.py says what is in it).
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

die() {
  echo "verbena guest: $1" >/dev/kmsg
  echo o >/proc/sysrq-trigger
  sleep infinity
}

mount -t proc proc /proc
source "$VERBENA_RUN/parameters" || die "no parameters in $VERBENA_RUN"
modprobe -d "$MODULES" -a overlay ipv6 crc32_generic || die "no modules for $(uname -r) in $MODULES"

mount -t tmpfs -o size=80% tmpfs /mnt
mkdir /mnt/{written,work,host,root}
mount -t hostfs -o ro,/ hostfs /mnt/host || die "the host's root cannot be mounted"
mount -t overlay -o lowerdir=/mnt/host,upperdir=/mnt/written,workdir=/mnt/work overlay /mnt/root || die "no overlay"

root=/mnt/root
mount -n --move /proc $root/proc
mount -n --move /dev $root/dev
mount -t sysfs sys $root/sys
mount -t tmpfs tmpfs $root/run
mkdir -p $root/run/verbena $root/lib/modules
mount -t hostfs -o "$VERBENA_RUN" hostfs $root/run/verbena || die "$VERBENA_RUN cannot be mounted"
mount --bind "$MODULES/lib/modules" $root/lib/modules
mapfile -d '' -t writable <"$VERBENA_RUN/writable"
for folder in "${writable[@]}"; do
  mount -t hostfs -o "$folder" hostfs "$root$folder" || die "$folder cannot be mounted"
done

# perftest computes cycles: it wants the clock of the processor, which is the host's, and a PCI bus, if an empty one.
sed "s/^bogomips/cpu MHz\t\t: $HOST_MHZ\nbogomips/" $root/proc/cpuinfo >$root/run/cpuinfo
mount --bind $root/run/cpuinfo $root/proc/cpuinfo
mount -t tmpfs tmpfs $root/proc/bus && mkdir -p $root/proc/bus/pci && : >$root/proc/bus/pci/devices

cd $root || die "no root"
exec chroot . /bin/bash "$TOOLS/guest/run_command.sh" <dev/null
