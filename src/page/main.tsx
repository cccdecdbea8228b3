import { render } from "preact";
import { App } from "./app.tsx";
import { keepFromLeaving } from "./keep-from-leaving.ts";

const place = document.getElementById("page");
keepFromLeaving();
place?.replaceChildren();
if (place !== null) render(<App />, place);
