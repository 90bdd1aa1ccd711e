import { expect, test } from "vitest";
import { firstCommand } from "./first";

test("where nothing has run, the command names a workflow that is there, or says to save one", () => {
  expect(firstCommand("nightly", null)).toBe("windlass run nightly");
  expect(firstCommand(null, null)).toBe("windlass apply FILE.yaml");
  expect(firstCommand("nightly", "team-b")).toBe("windlass run nightly --namespace team-b");
});
