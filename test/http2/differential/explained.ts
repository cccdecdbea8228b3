/**
 * Differences between the servers, each with the section of RFC 9113 by which ours is right, or may do so. Node.js
 * gives INTERNAL_ERROR (2) for most errors that its library finds.
 */
const EXPLAINED: readonly (readonly [difference: RegExp, why: string])[] = [
  [/node: died/, "nghttp2 before 1.68.1 ends its process at a wrong frame behind a connection's end (CVE-2026-27135)"],
  [/^ours: goaway \d+ .* node: goaway 2/, "5.4.1: node:http2 has another code for an error of the connection"],
  [/^ours: goaway \d+ .* node: closed/, "5.4.1: GOAWAY should come first, and need not"],
  [
    /node: goaway 5 \(DATA: stream in half-closed/,
    "5.1: data behind the end of a stream is an error of the stream; nghttp2 ends the connection",
  ],
  [/node: goaway 1 \(depend on itself/, "5.3: priorities are no more; a stream that depends on itself is reset"],
  [/^ours: open reset 6 \| node: goaway 6/, "6.3: a priority of another length is an error of the stream"],
  [
    /^ours: goaway 1 \(.*(?:stream|SETTINGS|push|PING|PRIORITY|GOAWAY|CONTINUATION|HEADERS).* node: goaway 6/,
    "4.2: a frame of a wrong length that is wrong by its stream or place too",
  ],
  [
    /^ours: goaway 6 \(a frame is too large\) \| node: goaway [19]\b/,
    "4.2: a frame that is too large is wrong in any place, and whatever it has",
  ],
  [
    /^ours: goaway 6 \(a frame is too large\) \| node: open.*wrong length/,
    "4.2: a frame that is too large is so by its head; nghttp2 waits for all of a CONTINUATION",
  ],
  [
    /^ours: goaway 6 \((?:padding without its length|HEADERS is too short)\) \| node: goaway/,
    "4.2: a frame without its mandatory bytes has a wrong size",
  ],
  [
    /^ours: goaway (?:1 \(padding is longer than its frame|6 \(padding without its length)\) \| node: open/,
    "6.1: padding as long as its frame ends the connection, of a stream that was reset too",
  ],
  [
    /^ours: goaway 1 \(SETTINGS with a stream\) \| node: goaway 11 \(SETTINGS: too many/,
    "6.5: settings that belong to a stream, of which there are too many besides",
  ],
  [
    /^ours: goaway [13] \((?:INITIAL_WINDOW|MAX_FRAME|ENABLE_PUSH|a window becomes)[^|]*\) \|.*setting twice/,
    "6.5.3: the values of a frame count in their order; nghttp2 sees the last one of a name alone",
  ],
  [/^ours: goaway 1 \(a header block is interrupted\) \| node: goaway 9/, "6.10: a block that is wrong by itself too"],
  [
    /^ours: goaway 5 \(stream N is closed\).*behind the end/,
    "5.1: frames of a stream that its client has ended end the connection",
  ],
  [
    /^ours: .*reset 5.* node: (?:goaway [125]|:status|nothing|bytes reset 1).*behind the end/,
    "5.1: frames behind the end of a stream end the stream",
  ],
  [/^ours: open reset 1.* node: goaway [125].*headers again/, "8.1: trailers without an end make a request malformed"],
  [
    /^ours: open reset 1.* node: goaway [12] .*window of nothing/,
    "6.9: a stream's window that grows by nothing ends the stream",
  ],
  [
    /^ours: open reset 1 \| node: goaway [123]\b.*window overflow/,
    "5.1: the window of a stream that was reset is no more",
  ],
  [
    /^ours: open(?: reset \d+)*? reset 3\b.* node: goaway [123]/,
    "6.9.1: a stream's window that becomes too large ends the stream",
  ],
  [
    /^ours: goaway 3 \(a window becomes too large\) \| node: open/,
    "6.9.2: a setting by which a window becomes too large ends the connection",
  ],
  [
    /^ours: [^|]*ended \| node: :status 200[^|]*bytes(?: \| (?!another (?:head|count|bytes)).*)?$/,
    "6.9.1: a frame without bytes needs no window",
  ],
  [/node: goaway 6 .*priority of another length/, "6.3: a priority of another length is an error of the stream"],
  [/^ours: .*reset 1.* node: .*own parent/, "5.3: priorities are no more; a stream that depends on itself is reset"],
  [/^ours: open.* node: goaway .*wrong length/, "4.1: a frame is judged once it is whole, or by its head"],
  [
    /^ours: open.* node: (?:goaway [12]|closed) .*settings acknowl/,
    "6.5.3: an acknowledgement that nobody waits for is no error",
  ],
  [
    /^ours: open.* node: (?:goaway [12]|closed) .*answer to no ping/,
    "6.7: an answer that nobody waits for is no error",
  ],
  [
    /^ours: open.* node: goaway [12] .*settings of extensions/,
    "6.5.2: settings of extensions that a server lacks are ignored",
  ],
  [
    /^ours: (?:.*status 200|bytes reset 1).* node: nothing.*GOAWAY/,
    "6.8: a client that leaves may begin calls, which need not be answered",
  ],
  [
    /^ours: (?:closed|open).* node: .*GOAWAY/,
    "6.8: of a client that leaves, calls before are answered, what is behind need not be read",
  ],
  [
    /^ours: .*reset 1 \| node: .*(?:illegal name|illegal value|space at an end)/,
    "8.2.1: a field of such characters makes a request malformed; nghttp2 leaves the field out",
  ],
  [
    /^ours: bytes reset 1 \| node: (?::status 200|nothing).*odd length/,
    "8.1.1: a content-length that is no number makes a request malformed; nghttp2 leaves some out",
  ],
  [
    /^ours: bytes reset 1 \| node: (?::status 200|nothing).*another host/,
    "8.3.1: a request whose Host differs from its :authority should be refused",
  ],
  [
    /^ours: (?:.*status 200|nothing).* node: .*reset 1 .*(?:no|odd) authority/,
    "8.3.1: a request may be without an authority, and its characters are the program's concern",
  ],
  [
    /^ours: .*reset 1 \| node: (?::status 200|nothing).*odd te/,
    "8.2.2: a TE but of trailers makes a request malformed; nghttp2 leaves out one of odd characters",
  ],
  [/^ours: (?:.*status 200|nothing).* node: .*odd character/, "8.2.1: only NUL, CR and LF make a value malformed"],
  [
    /^ours: .*status 200.* node: .*host/,
    "8.3.1: Host has no meaning beside :authority; nghttp2 leaves a wrong one out",
  ],
];

/** The explanation of a difference; undefined if there is none. */
export function explanationOf(difference: string): string | undefined {
  return EXPLAINED.find(([pattern]) => pattern.test(difference))?.[1];
}
