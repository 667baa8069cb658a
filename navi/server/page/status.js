(() => {
  "use strict";
  const root = document.documentElement;
  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const keep = (key, value) => { try { localStorage.setItem(key, value); } catch { /* a private window forgets */ } };
  const saved = recall("navi-theme");
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  document.addEventListener("DOMContentLoaded", () => {
    const theme = document.getElementById("theme");
    const refresh = document.getElementById("refresh");
    const dark = () => root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    const say = () => { theme.textContent = dark() ? "Light theme" : "Dark theme"; };
    theme.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      keep("navi-theme", root.dataset.theme);
      say();
    });
    say();
    let timer = 0;
    const schedule = () => {
      clearTimeout(timer);
      if (refresh.checked) timer = setTimeout(() => location.reload(), 10000);
    };
    refresh.checked = recall("navi-refresh") === "on";
    refresh.addEventListener("change", () => { keep("navi-refresh", refresh.checked ? "on" : "off"); schedule(); });
    schedule();
    document.getElementById("controls").hidden = false;
  });
})();
