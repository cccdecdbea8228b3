import type { ClientParts } from "./client-parts.ts";

/** A program for Python 3 without further packages. The request is a raw text: its backslashes are those of JSON. */
export function pythonClient({ endpoint, json }: ClientParts): string {
  return `#!/usr/bin/env python3
"""Sends an example of a request and prints the answer: python3 client.py"""

import json
import urllib.request

ENDPOINT = "${endpoint}"
REQUEST = r'${json}'


def main():
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(ENDPOINT, data=REQUEST.encode(), headers=headers)
    with urllib.request.urlopen(request) as response:
        print(json.dumps(json.load(response)))


if __name__ == "__main__":
    main()
`;
}
