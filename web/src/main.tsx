import { createRoot } from "react-dom/client";
import { signIn } from "@/api/pageKey";
import { App } from "@/app/App";
import "@/styles/base.css";

await signIn();
createRoot(document.getElementById("root")!).render(<App />);
