export interface Message {
  readonly id: string; // of this or the last event that had one
  readonly event: string;
  readonly data: string;
}

/** Takes text as it comes, gives whole server-sent events. */
export class SseReader {
  private rest = "";
  private id = "";
  private event = "";
  private data: string[] = [];
  retryMs: number | null = null;

  push(text: string): Message[] {
    const found: Message[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.field(line);
      else if (this.data.length) {
        found.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
        this.data = [];
        this.event = "";
      } else this.event = "";
    }
    return found;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id") this.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }
}
