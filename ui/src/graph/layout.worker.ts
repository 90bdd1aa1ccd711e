import { layout, type Wanted } from "./layout";

// Placing many boxes takes a while: here it holds nobody up.
addEventListener("message", (event: MessageEvent<Wanted>) => postMessage(layout(event.data)));
