from windlass.core.task import Result as Result
from windlass.core.task import StepContext as StepContext
from windlass.sdk.asynchronous import Client as Client
from windlass.sdk.authoring.controls import approval as approval
from windlass.sdk.authoring.controls import child as child
from windlass.sdk.authoring.controls import code as code
from windlass.sdk.authoring.controls import error as error
from windlass.sdk.authoring.controls import http as http
from windlass.sdk.authoring.controls import shell as shell
from windlass.sdk.authoring.controls import signal as signal
from windlass.sdk.authoring.controls import sleep as sleep
from windlass.sdk.authoring.controls import status as status
from windlass.sdk.authoring.controls import wait_until as wait_until
from windlass.sdk.authoring.items import index as index
from windlass.sdk.authoring.items import item as item
from windlass.sdk.authoring.steps import Step as Step
from windlass.sdk.authoring.steps import step as step
from windlass.sdk.authoring.values import expr as expr
from windlass.sdk.authoring.workflows import Workflow as Workflow
from windlass.sdk.authoring.workflows import workflow as workflow

__version__: str
