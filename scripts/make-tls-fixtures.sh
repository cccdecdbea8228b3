#!/usr/bin/env bash
# Makes the certificates of the tests, which end in a hundred years: an authority, and what it has signed.
set -euo pipefail
cd "$(dirname "$0")/../test/fixtures/tls"
days=36500
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>/dev/null; }
new_key ca
openssl req -x509 -new -key ca.key -days $days -subj "/CN=kserving test authority" -out ca.pem
for name in server renewed client; do
  new_key $name
  openssl req -new -key $name.key -subj "/CN=$name" -out $name.csr
  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >$name.ext
  openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $days -extfile $name.ext -out $name.pem 2>/dev/null
done
openssl req -x509 -newkey rsa:2048 -nodes -keyout rsa.key -days $days -subj /CN=rsa -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
  -out rsa.pem 2>/dev/null
openssl pkey -in server.key -aes256 -passout pass:secret -out locked.key
rm -f ./*.csr ./*.ext ./*.srl ca.key
