import { defineWords } from "../words";

export const words = defineWords({
  en: {
    drawing: "Drawing the graph …",
    grouped:
      "{grouped} steps are drawn as {boxes} {boxes|box|boxes}: those of the same level with similar names are together. Choose one to see its steps.",
    groupTitle: "{name}: {count} steps",
    fit: "Fit",
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    map: "Overview of the graph",
  },
  zh: {
    drawing: "正在绘制流程图…",
    grouped:
      "{grouped} 个步骤合并为 {boxes} 个方框：同一层级且名称相近的步骤合在一起。点选方框可查看其中的步骤。",
    groupTitle: "{name}：{count} 个步骤",
    fit: "适应窗口",
    zoomIn: "放大",
    zoomOut: "缩小",
    map: "流程图缩略图",
  },
});
