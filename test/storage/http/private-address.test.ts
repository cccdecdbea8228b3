import { expect, test } from "vitest";
import { isPrivateAddress, isPrivateHost } from "../../../src/storage/http/private-address.ts";

/** IANA's registries of special-purpose addresses: each that is not globally reachable, by its first and last one. */
const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  "this network (RFC 791)": ["0.0.0.0", "0.255.255.255", "::"],
  "private use (RFC 1918)": ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0"],
  "shared address space (RFC 6598)": ["100.64.0.0", "100.127.255.255"],
  "loopback (RFC 1122, 4291)": ["127.0.0.1", "127.255.255.255", "::1"],
  "link local (RFC 3927, 4291)": ["169.254.0.0", "169.254.255.255", "fe80::1", "fe80::1%eth0", "febf:ffff::1"],
  "protocol assignments (RFC 6890, 2928)": ["192.0.0.0", "192.0.0.8", "192.0.0.170", "192.0.0.255", "2001:1::1"],
  "documentation (RFC 5737, 3849, 9637)": [
    ...["192.0.2.1", "198.51.100.1", "203.0.113.255", "2001:db8::1", "3fff:fff:ffff::1"],
  ],
  "relays of 6to4 (RFC 7526)": ["192.88.99.1"],
  "benchmarking (RFC 2544, 5180)": ["198.18.0.0", "198.19.255.255", "2001:2::1"],
  "multicast (RFC 5771, 4291)": ["224.0.0.1", "239.255.255.255", "ff02::1"],
  "reserved and broadcast (RFC 1112, 919)": ["240.0.0.1", "255.255.255.255"],
  "IPv4 within IPv6 (RFC 4291)": [
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "::7f00:1",
    "::127.0.0.1",
    "::FFFF:169.254.169.254",
  ],
  "NAT64 (RFC 6052, 8215)": [
    ...[
      "64:ff9b::a9fe:a9fe",
      "64:ff9b::10.0.0.1",
      "64:FF9B:0:0::7f00:1",
      "64:ff9b::",
      "64:ff9b::1",
      "64:ff9b:1::808:808",
    ],
  ],
  "discard only (RFC 6666, 9780)": ["100::1", "100:0:0:1::1"],
  "Teredo (RFC 4380)": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  "ORCHID and others of 2001::/23": ["2001:10::1", "2001:20::1", "2001:1ff:ffff::1"],
  "6to4 (RFC 3056)": ["2002:7f00:1::1", "2002:808:808::1"],
  "segment routing (RFC 9602)": ["5f00::1"],
  "unique local (RFC 4193)": ["fc00::1", "fdff:ffff::1"],
  "site local (RFC 3879)": ["fec0::1", "feff::1"],
  "metadata of clouds": ["169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"],
  "more metadata of clouds": ["192.0.0.192", "fd20:ce::254", "169.254.169.123"],
};
const PUBLIC = [
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
  ...["168.63.129.15", "169.253.255.255", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0"],
  ...["192.31.196.1", "192.52.193.1", "192.175.48.1", "198.17.255.255", "198.20.0.0", "223.255.255.255"],
  ...["2001:200::1", "2606:4700:4700::1111", "2620:4f:8000::1", "2a00:1450:4001::1", "3ffe::1", "64:ff9b::8.8.8.8"],
  ...["64:ff9b::101:101", "::ffff:8.8.8.8"],
];

test.each(Object.entries(SPECIAL))("%s", (_, addresses) => {
  expect(addresses.filter((address) => !isPrivateAddress(address))).toEqual([]);
});

test("addresses of the internet, also just beside those", () => {
  expect(PUBLIC.filter(isPrivateAddress)).toEqual([]);
  expect(["", "example.com", "1.2.3", "::g", "10.0.0.1.example"].filter(isPrivateAddress)).toEqual([]);
});

test.each([
  ...["http://localhost/", "http://LOCALHOST./", "http://api.localhost/", "http://2130706433/", "http://0x7f.1/"],
  ...["http://017700000001/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::127.0.0.1]/", "http://127.1./"],
])("the host of %s", (url) => {
  expect(isPrivateHost(new URL(url).hostname)).toBe(true);
});
