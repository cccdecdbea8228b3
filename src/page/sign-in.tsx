import { useState } from "preact/hooks";
import { type CallError, keepAuthorization } from "./call-server.ts";

/** Asks for what the server wants to know of a caller. */
export function SignIn({ error, onDone }: { readonly error: CallError; readonly onDone: () => void }) {
  const [user, setUser] = useState("");
  const [secret, setSecret] = useState("");
  const [problem, setProblem] = useState("");
  const takesUsers = error.challenges.includes("Basic");
  const takesTokens = error.challenges.includes("Bearer") || !takesUsers;
  const send = (event: Event) => {
    event.preventDefault();
    const isToken = user === "";
    // No header has other characters.
    if (isToken && !/^[!-~]+$/.test(secret.trim()))
      return setProblem("A token has no such characters; a password needs its user.");
    setProblem("");
    keepAuthorization(isToken ? `Bearer ${secret.trim()}` : `Basic ${base64(`${user}:${secret}`)}`);
    onDone();
  };
  return (
    <main class="sign-in">
      <h1>kserving</h1>
      <p role="alert">{problem || error.message}</p>
      <form onSubmit={send}>
        {takesUsers && (
          <label>
            User{takesTokens && " (empty for a token)"}
            <input value={user} autocomplete="username" onInput={(event) => setUser(event.currentTarget.value)} />
          </label>
        )}
        <label>
          {[...(takesUsers ? ["Password"] : []), ...(takesTokens ? ["Token"] : [])]
            .join(" or token")
            .replace("Token or token", "Token")}
          <input
            type="password"
            value={secret}
            autocomplete="current-password"
            required
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Sign in</button>
      </form>
      <p class="facts">It is kept in this tab until the tab is closed.</p>
    </main>
  );
}

/** Of the text's UTF-8. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
