// Before anything is painted: the theme that was chosen, so that a dark page never flashes white.
(() => {
  let theme = null;
  try {
    theme = JSON.parse(localStorage.getItem("bough.theme"));
  } catch {}
  if (theme !== "light" && theme !== "dark") theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme;
})();
