/** Buttons that zoom a canvas and fit it to the window. */
import { Panel, useReactFlow } from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useMedia } from "@/lib/media";
import { IconButton } from "@/ui/controls/Button";
import css from "./CanvasControls.module.css";

export const FIT_VIEW_OPTIONS = { padding: 0.12, maxZoom: 1, minZoom: 0.15, duration: 200 };

export function CanvasControls({ children }: { children?: ReactNode }) {
  const wide = useMedia("(min-width: 48rem)");
  const { zoomIn, zoomOut, fitView } = useReactFlow();
  return (
    <Panel position={wide ? "bottom-left" : "top-right"} className={css.controls}>
      <IconButton label="Zoom in" size="small" onClick={() => void zoomIn({ duration: 120 })}>
        <Plus />
      </IconButton>
      <IconButton label="Zoom out" size="small" onClick={() => void zoomOut({ duration: 120 })}>
        <Minus />
      </IconButton>
      <IconButton label="Fit to window" size="small" onClick={() => void fitView(FIT_VIEW_OPTIONS)}>
        <Maximize />
      </IconButton>
      {children}
    </Panel>
  );
}
