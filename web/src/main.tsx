import { createRoot } from "react-dom/client";
import { App } from "@/app/App";
import "@/styles/base.css";

createRoot(document.getElementById("root")!).render(<App />);
