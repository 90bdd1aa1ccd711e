import { defineConfig } from "vite";

// Pages live under /ui/, because /workers and others are doors of the API.
export default defineConfig({
  base: "/ui/",
  build: {
    outDir: "../build/ui", // hatch_build.py puts it where the gateway finds it
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: {
    port: 5173,
    proxy: {
      "/api": {
        target: "http://127.0.0.1:8080",
        changeOrigin: true,
        headers: { Origin: "http://127.0.0.1:8080" },
      },
      "/health": "http://127.0.0.1:8080",
      "/docs": "http://127.0.0.1:8080",
    },
  },
});
