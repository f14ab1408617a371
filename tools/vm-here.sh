#!/bin/sh
# Unpack QEMU, Debian's kernel and its NFS server into .vm/, for `make nfs`; nothing is installed, and root is not needed.
set -eu
cd "$(dirname "$0")/.."
vm=$PWD/.vm
packages=$vm/root

fetch() {
    [ "$(uname -m)" = x86_64 ] || {
        echo "vm: a machine of x86-64 is wanted; NFS is not tried" >&2
        exit 1
    }
    tools/unpack-packages.sh vm "$vm" "NFS is not tried" \
        qemu-system-x86 linux-image-amd64 busybox-static kmod nfs-kernel-server nfs-common rpcbind
    mv "$packages"/boot/vmlinuz-* "$vm/kernel"
    for tool in depmod modprobe; do
        ln -s root/bin/kmod "$vm/$tool"
    done
    "$vm/depmod" -b "$packages" "$(ls "$packages/lib/modules")"
    touch "$vm/ready"
}

# What the kernel begins with: the modules that it needs to see this machine's files, and the program that loads them.
make_initrd() {
    rm -rf "$vm/initrd"
    mkdir -p "$vm/initrd/modules"
    "$vm/modprobe" -d "$packages" -S "$(ls "$packages/lib/modules")" -D -a virtio_pci 9pnet_virtio 9p overlay |
        awk '$1 == "insmod" && !seen[$2]++ {print $2}' |
        while read -r module; do
            cp "$module" "$vm/initrd/modules/"
            echo "${module##*/}" >>"$vm/initrd/modules/order"
        done
    cp "$packages/bin/busybox" "$vm/initrd/"
    cp tools/vm-init.sh "$vm/initrd/init"
    (cd "$vm/initrd" && find . | ./busybox cpio --quiet -o -H newc) | gzip >"$vm/initrd.gz"
}

[ -e "$vm/ready" ] || fetch
[ "$vm/initrd.gz" -nt tools/vm-init.sh ] || make_initrd
