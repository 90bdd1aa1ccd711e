import { expect, test } from "vitest";
import { DEEDS, mayDo, outcomeTone, roleWords, tokenBody } from "./token";

test("a token names what was filled in, and nothing else", () => {
  expect(tokenBody({ role: "read", namespace: " reports ", name: " ci ", expires: " 90d " })).toEqual({
    role: "read",
    namespace: "reports",
    name: "ci",
    expires: "90d",
  });
  expect(tokenBody({ role: "submit", namespace: "", name: "", expires: "" })).toEqual({ role: "submit" });
});

test("an admin's token is of all namespaces, and so names none", () => {
  expect(tokenBody({ role: "admin", namespace: "default", name: "", expires: "" })).toEqual({
    role: "admin",
  });
});

test("each role may what the one below it may, and one thing more", () => {
  const may = (role: string) => DEEDS.filter((deed) => mayDo(role, deed));
  expect(["read", "submit", "operator", "admin"].map((role) => may(role).length)).toEqual([1, 2, 3, 4]);
  expect(may("worker")).toEqual([]);
});

test("an outcome is good, refused or bad", () => {
  expect([200, 202, 401, 404, 500, 503].map(outcomeTone)).toEqual([
    "succeeded",
    "succeeded",
    "cancelled",
    "cancelled",
    "failed",
    "failed",
  ]);
});

test("roles of programs have no words for people", () => {
  expect(roleWords("operator")).toBe("role.operator");
  expect(roleWords("node")).toBeNull();
  expect(roleWords(null)).toBeNull();
});
