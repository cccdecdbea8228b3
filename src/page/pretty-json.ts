const INDENT = "  ";
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/g;

/** JSON in lines, with every number as it was written; a text that is no JSON stays as it is. */
export function prettyJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let indent = "\n";
  return text.replace(TOKENS, (token) => {
    if (token === "{" || token === "[") {
      indent += INDENT;
      return token + indent;
    }
    if (token === "}" || token === "]") {
      indent = indent.slice(0, -INDENT.length);
      return indent + token;
    }
    if (token === ",") return token + indent;
    if (token === ":") return ": ";
    return token.trim().replace(/^([{[])\s+/, "$1");
  });
}
