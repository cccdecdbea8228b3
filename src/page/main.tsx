import { render } from "preact";
import { App } from "./app.tsx";

const place = document.getElementById("page");
keepFromLeaving();
place?.replaceChildren();
if (place !== null) render(<App />, place);

/** Refuses files that are dropped next to a place for files: a browser would show them in place of the page. */
function keepFromLeaving(): void {
  for (const type of ["dragover", "drop"] as const)
    addEventListener(type, (event) => {
      const { defaultPrevented, dataTransfer } = event;
      if (defaultPrevented || dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      dataTransfer.dropEffect = "none";
    });
}
