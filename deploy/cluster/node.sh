#!/bin/bash
# Process 1 of a cluster's namespaces: makes their mounts and their network, says "ready" and waits until standard input
# ends. All other processes end with it, and so does it with the check that holds the other end.
set -euo pipefail

hostname node1
mount --make-rshared /
# What Kubernetes writes into folders with fixed names stays in here.
for folder in /run /etc/cni /opt/containerd /usr/libexec/kubernetes /var/lib/cni /var/lib/kubelet /var/log/containers; do
  mkdir -p "$folder"
  mount -t tmpfs tmpfs "$folder"
done
mkdir -p /run/containerd /run/lock /run/netns
# The kubelet sets these for the whole machine: it gets copies.
for setting in vm/{overcommit_memory,panic_on_oom} kernel/{panic,panic_on_oops,keys/root_maxkeys,keys/root_maxbytes}; do
  copy=/run/${setting//\//-}
  cat "/proc/sys/$setting" >"$copy"
  mount --bind "$copy" "/proc/sys/$setting"
done
# No name of this machine's network can be looked up: there is none.
mount --bind /dev/null /etc/resolv.conf

ip link set lo up
# A bridge without ports has the node's address; the default route, which some parts ask for, leads nowhere.
ip link add node0 type bridge
ip addr add 192.0.2.10/24 dev node0
ip link set node0 up
ip route add default dev node0
sysctl -qw net.ipv4.ip_forward=1

echo ready
cat >/dev/null
