import { useState } from "preact/hooks";
import type { PageVersion } from "../protocols/page/page-data.ts";
import { callServer } from "./call-server.ts";

interface ControlsProps {
  readonly of: PageVersion;
  readonly refresh: () => void;
}

/** Buttons that load and unload a model, for viewers who may. */
export function Controls({ of: { model, state }, refresh }: ControlsProps) {
  const [doing, setDoing] = useState("");
  const [told, setTold] = useState({ text: "", isBad: false });
  const send = async (deed: string, word: string) => {
    setDoing(word);
    setTold({ text: "", isBad: false });
    try {
      await callServer(`ui/models/${encodeURIComponent(model)}/${deed}`, { method: "POST" });
      setTold({ text: `${model} is ${word}.`, isBad: false });
    } catch (reason) {
      setTold({ text: reason instanceof Error ? reason.message : String(reason), isBad: true });
    }
    setDoing("");
    refresh();
  };
  const isLoaded = state === "AVAILABLE";
  return (
    <section aria-label="Controls">
      <div class="buttons">
        <button
          type="button"
          disabled={doing !== ""}
          onClick={() => void send("load", isLoaded ? "reloaded" : "loaded")}
        >
          {isLoaded ? "Reload" : "Load"}
        </button>
        {isLoaded && (
          <button type="button" disabled={doing !== ""} onClick={() => void send("unload", "unloaded")}>
            Unload
          </button>
        )}
      </div>
      <p class={told.isBad ? "notice bad" : "facts"} role="status">
        {doing === "" ? told.text : "The server is at it …"}
      </p>
    </section>
  );
}
