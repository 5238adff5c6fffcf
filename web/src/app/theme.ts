/** Applies the theme: light, dark, or the system's. */
import { useEffect } from "react";
import { usePref } from "@/lib/prefs";

export type Theme = "system" | "light" | "dark";

export function useTheme(): [Theme, (theme: Theme | undefined) => void] {
  const [theme, setTheme] = usePref<Theme>("theme", "system");
  useEffect(() => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    };
    apply();
    dark.addEventListener("change", apply);
    return () => dark.removeEventListener("change", apply);
  }, [theme]);
  return [theme, setTheme];
}
