#!/busybox sh
# The first process of the virtual machine: it sees all files of this machine, and its changes to them vanish with it.
# Its task is in the folder `desk`, which it shares with the process that has started it.
/busybox --install -s /
mkdir -p /dev /lower /packages /upper /new
mount -t devtmpfs none /dev
while read -r module; do
    insmod "/modules/$module"
done </modules/order
shared() {
    mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" "$1" "$2"
}
shared root /lower ro,cache=loose
shared packages /packages ro,cache=loose
mount -t tmpfs none /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower:/packages,upperdir=/upper/files,workdir=/upper/work none /new
mount -t proc none /new/proc
mount -t sysfs none /new/sys
mount -t devtmpfs none /new/dev
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts none /new/dev/pts
for folder in dev/shm run; do
    mount -t tmpfs none "/new/$folder"
done
mkdir /new/run/desk
shared desk /new/run/desk rw
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec switch_root /new /bin/sh -c "sh /run/desk/begin </dev/null; exec busybox poweroff -f"
