import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";

/** While the page is developed, Vite stands in front of a running server: found as the command line finds it. */
function running(): Record<string, ProxyOptions> {
  const data = process.env.BOUGH_DATA ?? join(homedir(), ".local/share/bough");
  const about = join(data, "server.json");
  if (!existsSync(about)) return {};
  const { url, token } = JSON.parse(readFileSync(about, "utf8")) as { url: string; token: string };
  // The page's own origin goes along as it is: the server goes on refusing other sites, also through this door.
  return {
    "/api": { target: url, ws: true, changeOrigin: false, headers: { authorization: `Bearer ${token}` } },
  };
}

// Built into the Python package, which serves it; nothing of it is committed.
export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: {
      "@": fileURLToPath(new URL("./src", import.meta.url)),
      // Dialogs would write a style sheet into the page, which its policy forbids; what it says is in `base.css`.
      "react-style-singleton": fileURLToPath(new URL("./src/lib/no-style-singleton.ts", import.meta.url)),
    },
  },
  build: {
    outDir: "../src/bough/web",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    sourcemap: false,
    chunkSizeWarningLimit: 600,
    // The licenses of everything in the bundles; they must go with every copy.
    license: { fileName: "third-party-notices.md" },
  },
  server: { proxy: running() },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
