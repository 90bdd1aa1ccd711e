import { defineWords } from "../../../../../words";

export const words = defineWords({
  en: {
    input: "Input",
    output: "Output",
    context: "Context",
    labels: "Labels",
    noInput: "It was started without input.",
    noOutput: "It gave nothing.",
    notYet: "There when the run has ended.",
    noContext: "Nothing is shared between the steps.",
    noLabels: "It has no labels.",
    contextHint: "Shared between the steps: as the run began, and what steps added.",
    purged: "What this run was given and gave is deleted",
    purgedMore: "It ended long ago; only the row in the list of runs is left.",
  },
  zh: {
    input: "输入",
    output: "输出",
    context: "上下文",
    labels: "标签",
    noInput: "启动时没有输入。",
    noOutput: "没有输出。",
    notYet: "运行结束后显示。",
    noContext: "各步骤没有共享数据。",
    noLabels: "没有标签。",
    contextHint: "各步骤共享的数据：运行开始时的内容，以及步骤追加的内容。",
    purged: "该运行的输入和输出已被清理",
    purgedMore: "它早已结束，目前只保留列表中的一条记录。",
  },
});
