/** Writers of programs that send a request and print its answer, by the names that the original has for languages. */
export const CLIENTS = {
  bash: bashClient,
  python: pythonClient,
  golang: golangClient,
  javascript: javascriptClient,
  typescript: typescriptClient,
  java: javaClient,
} satisfies Record<string, (parts: ClientParts) => string>;
/** A key of {@link CLIENTS}. */
export type ClientLanguage = keyof typeof CLIENTS;

/** The parts of a generated program that are not its language's. */
interface ClientParts {
  /** A URL of letters, digits and the characters of `[]:./-`. */
  readonly endpoint: string;
  /** A request on one line, of the characters that plainJsonText leaves. */
  readonly json: string;
}

/** A program for Bash with curl. The request is a quoted here-document, which may be longer than an argument. */
function bashClient({ endpoint, json }: ClientParts): string {
  return `#!/bin/bash
# Sends an example of a request and prints the answer: bash client.sh

curl --silent --show-error --header 'Content-Type: application/json' --data-binary @- '${endpoint}' <<'REQUEST'
${json}
REQUEST
`;
}

/** A program for Python 3 without further packages. The request is a raw text: its backslashes are those of JSON. */
function pythonClient({ endpoint, json }: ClientParts): string {
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

/** A program for Go. The request is a raw text between backquotes. */
function golangClient({ endpoint, json }: ClientParts): string {
  return `// Sends an example of a request and prints the answer: go run client.go
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
)

const endpoint = "${endpoint}"

const request = \`${json}\`

func main() {
	response, err := http.Post(endpoint, "application/json", strings.NewReader(request))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%s: %s", response.Status, body)
	}
	fmt.Print(string(body))
}
`;
}

/**
 * A program for Node.js 18 and later, and for browsers, without packages. The request
 * is a raw text: its backslashes are those of JSON.
 */
function javascriptClient({ endpoint, json }: ClientParts): string {
  return `#!/usr/bin/env node
// Sends an example of a request and prints the answer: node client.js

const endpoint = "${endpoint}";
const body = String.raw\`${json}\`;

async function main() {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(endpoint, { method: "POST", headers, body });
  if (!response.ok) throw new Error(response.status + ": " + (await response.text()));
  console.log(await response.text());
}

main();
`;
}

/** A program for TypeScript, run by Node.js 22.18 and later, tsx, Deno or Bun, without packages. */
function typescriptClient({ endpoint, json }: ClientParts): string {
  return `// Sends an example of a request and prints the answer: npx tsx client.ts

const endpoint = "${endpoint}";
const body = String.raw\`${json}\`;

async function main(): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(endpoint, { method: "POST", headers, body });
  if (!response.ok) throw new Error(response.status + ": " + (await response.text()));
  const outputs: string = await response.text();
  console.log(outputs);
}

main();
`;
}

/** Characters of one literal: a class file has room for 65535 bytes of each. */
const CHUNK = 20_000;

/** A program for Java 11 and later, without packages. A long request is several literals. */
function javaClient({ endpoint, json }: ClientParts): string {
  return `// Sends an example of a request and prints the answer: java Client.java
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Client {
    static final String ENDPOINT = "${endpoint}";
    static final String REQUEST = String.join("",
        ${literals(json).join(",\n        ")});

    public static void main(String[] args) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(ENDPOINT))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(REQUEST))
            .build();
        HttpResponse<String> response =
            HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) throw new IllegalStateException(response.statusCode() + ": " + response.body());
        System.out.print(response.body());
    }
}
`;
}

function literals(json: string): string[] {
  const chunks = json.match(new RegExp(`.{1,${CHUNK}}`, "g")) ?? [];
  return chunks.map((chunk) => `"${chunk.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
}
