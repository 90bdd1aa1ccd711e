import { defineConfig } from "vitest/config";

export default defineConfig({
  server: { fs: { allow: [".."] } }, // tests compare words with what the engine lists
  test: {
    environment: "node", // a page takes half a second to set up: files that need one say so
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    testTimeout: 60_000, // on a busy machine; none takes so long
    hookTimeout: 60_000,
  },
});
