/** A client. */
export interface ForeignClient {
  readonly name: string;
  /** A command of the shell in the checkout's folder. */
  readonly command: string;
  /** A command that fails where the client cannot run, and what is missing then. */
  readonly needs?: readonly [command: string, what: string];
  /** Matches what it prints. */
  readonly prints: RegExp;
}

/** The Python of the clients. */
export const PYTHON = process.env.KSERVING_TEST_PYTHON ?? "python3";
/** A check for the package of its clients. */
export const REQUESTS = [`${PYTHON} -c 'import requests'`, "Python has no package requests"] as const;
/** Part of the answer to the two rows. */
export const SOFTMAX = /softmax"?: ?\[ ?\[ ?0\.6\d+, ?0\.3\d+ ?\]/;

/** File, program, and what it needs. */
const OTHERS = [
  ["bash_client/client.sh", "bash", "command -v curl", "curl is not installed"],
  ["python_client/client.py", PYTHON, ...REQUESTS],
  ["go_client/client.go", "go run", "command -v go", "go is not installed"],
  [
    "javascript_client/client.js",
    "node",
    "cd clients && node -e \"require('request')\"",
    "Node.js lacks its package request",
  ],
  ["perl_client/client.pl", "perl", "perl -MHTTP::Request -MLWP::UserAgent -e 1", "Perl lacks LWP"],
  ["ruby_client/client.rb", "ruby", "command -v ruby", "ruby is not installed"],
  ["php_client/client.php", "php", "php -r 'curl_init();'", "php with curl is not installed"],
  [
    "lua_client/client.lua",
    "lua",
    `lua -e 'require "socket.http"; (require "json"):encode({})'`,
    "lua lacks socket, or the one of its packages json that has methods",
  ],
  ["r_client/client.R", "Rscript", "Rscript -e 'library(httr)'", "R with httr is not installed"],
  ["swift_client/client.swift", "swift", "command -v swift", "swift is not installed"],
  ["erlang_client/client.erl", "escript", "command -v escript", "escript is not installed"],
] as const;

/** They all send the same two rows. */
export const LANGUAGES: readonly ForeignClient[] = OTHERS.map(([file, program, command, what]) => {
  const path = `clients/${file}`;
  return { name: path, command: `${program} ${path}`, needs: [command, what], prints: SOFTMAX };
});
